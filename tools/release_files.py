#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the files of a release reproducible, and write their checksums.

SOURCE_DATE_EPOCH=<seconds> python tools/release_files.py <directory>

setuptools copies the modes of the files on the disk, and in source archives also their order,
times and owners.
"""

import gzip
import hashlib
import io
import os
import pathlib
import stat
import sys
import tarfile
import zipfile

SUMS = 'SHA256SUMS'


def mode_of(mode: int) -> int:
    """The mode of a file that everybody may read, and run if its owner may."""
    return 0o755 if mode & 0o100 else 0o644


def normalise_archive(path: pathlib.Path, seconds: int) -> None:
    """Rewrite a `.tar.gz`: files only, sorted by name, with one time and owner."""
    archive = io.BytesIO()
    with tarfile.open(path) as given, tarfile.open(fileobj=archive, mode='w') as normal:
        for member in sorted(given.getmembers(), key=lambda member: member.name):
            if not member.isfile():
                continue
            same = tarfile.TarInfo(member.name)
            same.size, same.mtime = member.size, seconds
            same.mode = mode_of(member.mode)
            normal.addfile(same, given.extractfile(member))
    path.write_bytes(gzip.compress(archive.getvalue(), mtime=seconds))


def normalise_wheel(path: pathlib.Path) -> None:
    """Rewrite a wheel, whose times are correct already."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(path) as given, zipfile.ZipFile(wheel, 'w') as normal:
        for member in given.infolist():
            same = zipfile.ZipInfo(member.filename, member.date_time)
            same.compress_type = zipfile.ZIP_DEFLATED
            same.external_attr = (stat.S_IFREG | mode_of(member.external_attr >> 16)) << 16
            normal.writestr(same, given.read(member))
    path.write_bytes(wheel.getvalue())


def normalise(directory: pathlib.Path, seconds: int) -> None:
    """Normalise the archives in a directory, and write `SHA256SUMS` there."""
    for path in directory.glob('*.tar.gz'):
        normalise_archive(path, seconds)
    for path in directory.glob('*.whl'):
        normalise_wheel(path)
    sums = [
        f'{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n'
        for path in sorted(directory.iterdir())
        if path.is_file() and path.name != SUMS
    ]
    directory.joinpath(SUMS).write_text(''.join(sums))


if __name__ == '__main__':
    normalise(pathlib.Path(sys.argv[1]), int(os.environ['SOURCE_DATE_EPOCH']))
