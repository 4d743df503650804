#!/bin/sh
# Creates the database at the first start, using the official image's documented variables, then becomes the server.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # shellcheck disable=SC2086 # several options in one variable
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS:-}
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  # Listens only on its socket, so that no client mistakes a half-created database for a ready one.
  pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=" --wait start
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
