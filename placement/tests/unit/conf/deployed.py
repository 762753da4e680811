# SPDX-License-Identifier: Apache-2.0
"""Configuration files with the options that tools of deployers set, and values of our own."""

KOLLA_ANSIBLE = """
[DEFAULT]
debug = False
log_file = /var/log/kolla/placement/placement-api.log
state_path = /var/lib/placement
[oslo_middleware]
enable_proxy_headers_parsing = true
[oslo_concurrency]
lock_path = /var/lib/placement/tmp
[placement_database]
connection = mysql+pymysql://placement:secret@192.0.2.1:3306/placement
connection_recycle_time = 10
max_overflow = 1000
max_pool_size = 1
max_retries = -1
[cache]
backend = oslo_cache.memcache_pool
enabled = true
memcache_servers = 192.0.2.2:11211,192.0.2.3:11211
[keystone_authtoken]
service_type = placement
www_authenticate_uri = https://keystone.example:5000
auth_url = https://keystone.example:5000
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = service
username = placement
password = secret
cafile = /etc/ssl/certs/ca-certificates.crt
region_name = RegionOne
memcache_security_strategy = ENCRYPT
memcache_secret_key = secret
memcached_servers = 192.0.2.2:11211,192.0.2.3:11211
[oslo_policy]
policy_file = policy.yaml
[profiler]
enabled = true
trace_sqlalchemy = true
hmac_keys = secret
connection_string = redis://192.0.2.4:6379
"""

OPENSTACK_ANSIBLE = """
[DEFAULT]
log_dir = /var/log/placement
use_journal = False
[keystone_authtoken]
auth_type = password
insecure = False
auth_url = https://keystone.example:5000
www_authenticate_uri = https://keystone.example:5000
project_domain_id = default
user_domain_id = default
project_name = service
username = placement
password = secret
region_name = RegionOne
service_token_roles_required = True
service_token_roles = service
service_type = placement
memcached_servers = 192.0.2.2:11211
memcache_security_strategy = ENCRYPT
memcache_secret_key = secret
[placement_database]
connection = mysql+pymysql://placement:secret@192.0.2.1/placement?charset=utf8
max_overflow = 50
max_pool_size = 5
pool_timeout = 30
connection_recycle_time = 600
"""

OPENSTACK_HELM = """
[DEFAULT]
debug = false
use_syslog = false
log_config_append = /etc/placement/logging.conf
[placement_database]
connection = mysql+pymysql://placement:secret@mariadb.openstack.svc:3306/placement
[keystone_authtoken]
auth_version = v3
auth_type = password
auth_url = http://keystone-api.openstack.svc:5000/v3
www_authenticate_uri = http://keystone-api.openstack.svc:5000/v3
memcache_security_strategy = ENCRYPT
memcache_secret_key = secret
memcached_servers = memcached.openstack.svc:11211
region_name = RegionOne
project_name = service
project_domain_name = service
user_domain_name = service
username = placement
password = secret
[oslo_concurrency]
lock_path = /var/lib/openstack/lock
[oslo_messaging_notifications]
driver = noop
"""

FILES = {
    'kolla-ansible': KOLLA_ANSIBLE,
    'openstack-ansible': OPENSTACK_ANSIBLE,
    'openstack-helm': OPENSTACK_HELM,
}
