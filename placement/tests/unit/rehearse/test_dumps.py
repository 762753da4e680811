# SPDX-License-Identifier: Apache-2.0
"""The rehearsal executes of a dump what makes tables, and refuses what is no dump of Placement."""

import gzip
import pathlib
import sqlite3
from contextlib import closing

import pytest

from tools.rehearse import dumps
from tools.rehearse.dumps import MYSQL, POSTGRESQL, SQLITE, Engine
from tools.rehearse.failure import CannotRehearse

MARIADB_DUMP = """\
/*M!999999\\- enable the sandbox mode */ 
-- MariaDB dump 10.19  Distrib 10.11.14-MariaDB, for debian-linux-gnu (x86_64)
--
/*!40101 SET NAMES utf8mb4 */;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3E11FA47:1-5';
/*!40000 DROP DATABASE IF EXISTS `placement`*/;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `placement` /*!40100 DEFAULT CHARACTER SET utf8mb3 */;
USE `placement`;
DROP TABLE IF EXISTS `traits`;
CREATE TABLE `traits` (
  `id` int(11) NOT NULL
) ENGINE=InnoDB;
INSERT INTO `traits` VALUES
(1,'a; b'),
(2,'USE other;');
GRANT ALL ON *.* TO 'a';
INSERT INTO `other`.`traits` VALUES (1);
DROP TABLE IF EXISTS `other`.`traits`;
-- Dump completed on 2026-11-28 18:00:00
"""  # noqa: W291

POSTGRESQL_DUMP = """\
--
-- PostgreSQL database dump
--

\\restrict abc
SET statement_timeout = 0;
SET client_encoding = 'UTF8';
CREATE DATABASE placement WITH TEMPLATE = template0;
ALTER DATABASE placement OWNER TO placement;
\\connect placement
CREATE TABLE public.traits (
    id integer NOT NULL
);
ALTER TABLE public.traits OWNER TO placement;
COPY public.traits (id, name) FROM stdin;
1\tDROP TABLE a;
2\tb
\\.
COPY public.traits (id) FROM PROGRAM 'touch a';
COPY public.traits (id) FROM '/etc/passwd';
SELECT pg_catalog.setval('public.traits_id_seq', 2, true);
ALTER TABLE ONLY public.traits
    ADD CONSTRAINT traits_pkey PRIMARY KEY (id);
--
-- PostgreSQL database dump complete
--

\\unrestrict abc
"""

SQLITE_DUMP = """\
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE resource_providers (id INTEGER);
INSERT INTO resource_providers VALUES(1);
COMMIT;
"""

DUMPS = [(MARIADB_DUMP, MYSQL), (POSTGRESQL_DUMP, POSTGRESQL), (SQLITE_DUMP, SQLITE)]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'placement.sql'


def executed(path: pathlib.Path, engine: Engine) -> list[tuple[str, list[bytes]]]:
    statements = dumps._statements(path, engine)
    return [(text.split('(')[0].strip(), [*(rows or ())]) for text, rows in statements]


@pytest.mark.parametrize(('text', 'engine'), DUMPS)
def test_recognise_tells_the_engine(text: str, engine: Engine, path: pathlib.Path) -> None:
    path.write_text(text)
    assert dumps.recognise(path) is engine
    path.write_bytes(gzip.compress(text.encode()))
    assert dumps.recognise(path) is engine


@pytest.mark.parametrize(
    'text', ['', 'SELECT 1;\n', '-- PostgreSQL database cluster dump\n', '\x7fELF']
)
def test_recognise_refuses_what_is_no_dump(text: str, path: pathlib.Path) -> None:
    path.write_text(text)
    with pytest.raises(CannotRehearse, match='is no dump of a database of MariaDB or MySQL, Post'):
        dumps.recognise(path)


def test_mariadb_dump_touches_no_other_database(path: pathlib.Path) -> None:
    path.write_text(MARIADB_DUMP)
    assert executed(path, MYSQL) == [
        ('/*!40101 SET NAMES utf8mb4 */', []),
        ('DROP TABLE IF EXISTS `traits`', []),
        ('CREATE TABLE `traits`', []),
        ('INSERT INTO `traits` VALUES', []),
    ]


def test_postgresql_dump_touches_no_other_database(path: pathlib.Path) -> None:
    path.write_text(POSTGRESQL_DUMP)
    assert executed(path, POSTGRESQL) == [
        ("SET client_encoding = 'UTF8'", []),
        ('CREATE TABLE public.traits', []),
        ('COPY public.traits', [b'1\tDROP TABLE a;\n', b'2\tb\n']),
        ('SELECT pg_catalog.setval', []),
        ('ALTER TABLE ONLY public.traits\n    ADD CONSTRAINT traits_pkey PRIMARY KEY', []),
    ]


def test_a_dump_of_several_databases_is_refused(path: pathlib.Path) -> None:
    path.write_text(MARIADB_DUMP + 'USE `nova`;\n')
    with pytest.raises(CannotRehearse, match='has several databases'):
        executed(path, MYSQL)


@pytest.mark.parametrize(('text', 'engine'), DUMPS)
def test_a_truncated_dump_is_refused(text: str, engine: Engine, path: pathlib.Path) -> None:
    lines = text.splitlines(keepends=True)
    # Wherever it ends, except for what follows the mark of the end.
    for number in range(5, len(lines) - 4 if engine is POSTGRESQL else len(lines)):
        path.write_text(''.join(lines[:number])[:-3])
        with pytest.raises(CannotRehearse, match='is truncated'):
            executed(path, engine) if engine.variable else restore(path)


def restore(path: pathlib.Path) -> list[tuple[int]]:
    with (
        dumps.restored(path, SQLITE) as url,
        closing(sqlite3.connect(url.removeprefix('sqlite:///'))) as connection,
    ):
        return connection.execute('SELECT * FROM resource_providers').fetchall()


def test_sqlite_dump_is_restored_as_text_and_as_a_file(path: pathlib.Path) -> None:
    path.write_text(SQLITE_DUMP)
    assert restore(path) == [(1,)]
    file = path.with_suffix('.sqlite')
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SQLITE_DUMP)
    assert dumps.recognise(file) is SQLITE
    assert restore(file) == [(1,)]


def test_sqlite_dump_opens_no_other_file(path: pathlib.Path) -> None:
    other = path.with_name('other')
    attach = f"COMMIT; ATTACH '{other}' AS other; CREATE TABLE other.a (b);\nBEGIN;\nCOMMIT;"
    path.write_text(SQLITE_DUMP.replace('COMMIT;', attach))
    with pytest.raises(CannotRehearse, match='not authorized'):
        restore(path)
    assert not other.exists()


def test_a_dump_of_another_service_is_refused(path: pathlib.Path) -> None:
    path.write_text(SQLITE_DUMP.replace('resource_providers', 'instances'))
    with pytest.raises(CannotRehearse, match='is no dump of Placement'):
        restore(path)


@pytest.mark.parametrize('engine', [MYSQL, POSTGRESQL])
def test_a_dump_without_its_server_is_refused(
    engine: Engine, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(engine.variable, raising=False)
    with pytest.raises(CannotRehearse, match=f'needs a server: set {engine.variable}'):
        dumps.restored(path, engine).__enter__()


@pytest.mark.parametrize('engine', [MYSQL, POSTGRESQL])
def test_a_server_that_is_away_is_named(
    engine: Engine, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = 'mysql+pymysql' if engine is MYSQL else 'postgresql+psycopg'
    monkeypatch.setenv(engine.variable, f'{scheme}://root:secret@127.0.0.1:1/a')
    with pytest.raises(CannotRehearse, match='cannot be restored: ') as raised:
        dumps.restored(path, engine).__enter__()
    assert 'secret' not in str(raised.value)
