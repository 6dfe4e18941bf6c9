CREATE ROLE till_owner LOGIN PASSWORD 'OWNER_PASSWORD';
CREATE ROLE till_server LOGIN PASSWORD 'SERVER_PASSWORD';
-- The doctor sees whether the standbys are connected.
GRANT pg_monitor TO till_server;
CREATE DATABASE till OWNER till_owner;
\connect till
REVOKE ALL ON SCHEMA public FROM PUBLIC;
ALTER SCHEMA public OWNER TO till_owner;
GRANT USAGE ON SCHEMA public TO till_server;
