/** The statements of the doctor. Each reads catalogs, settings or statistics of the server, and no event. */

/** Returns one row: what the server and this session are set to, and how many connections are in use. */
export const readSettings = `
  select current_setting('server_version_num'),
         current_setting('fsync'),
         current_setting('full_page_writes'),
         current_setting('synchronous_commit'),
         current_setting('autovacuum'),
         current_setting('default_transaction_isolation'),
         (current_setting('max_connections')::integer
          - current_setting('superuser_reserved_connections')::integer)::text,
         (select coalesce(sum(numbackends), 0)::text from pg_stat_database),
         pg_has_role(current_user, 'pg_read_all_stats', 'usage')::text`

/** $1 schema, $2 names of tables. Returns every index of these tables. */
export const readIndexes = `
  select owner.relname,
         index.relname,
         array_to_string(array(select attname from pg_attribute
                                where attrelid = index.oid order by attnum), ','),
         (indpred is not null)::text,
         indisvalid::text,
         index.relpages::text,
         index.reltuples::bigint::text
    from pg_index
    join pg_class as index on index.oid = indexrelid
    join pg_class as owner on owner.oid = indrelid
    join pg_namespace on pg_namespace.oid = owner.relnamespace
   where nspname = $1 and owner.relname = any($2::text[])`

/** $1 schema, $2 table of events. Returns the table, or its time partitions, with statistics of vacuum. */
export const readStorage = `
  select pg_class.relname,
         relpersistence::text,
         coalesce(array_to_string(reloptions, ','), ''),
         coalesce(n_dead_tup, 0)::text,
         coalesce(n_live_tup, 0)::text
    from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
    left join pg_stat_all_tables on relid = pg_class.oid
   where nspname = $1 and relkind = 'r'
     and (pg_class.relname = $2
          or exists (select from pg_inherits join pg_class as parent on parent.oid = inhparent
                      where inhrelid = pg_class.oid and parent.relname = $2
                        and parent.relnamespace = pg_class.relnamespace))`

/**
 * $1 milliseconds. Returns the oldest transaction of another session that keeps dead rows alive, and the
 * oldest prepared one. A session without the right to see others finds its own user's only.
 */
export const readHorizon = `
  (select pid::text, usename::text, application_name, state,
          (extract(epoch from clock_timestamp() - xact_start) * 1000)::bigint::text
     from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
      and (backend_xmin is not null or backend_xid is not null)
      and xact_start < clock_timestamp() - $1::bigint * interval '1 millisecond'
    order by xact_start
    limit 1)
  union all
  (select null, owner::text, gid, 'prepared',
          (extract(epoch from clock_timestamp() - prepared) * 1000)::bigint::text
     from pg_prepared_xacts
    where database = current_database()
      and prepared < clock_timestamp() - $1::bigint * interval '1 millisecond'
    order by prepared
    limit 1)`

/** Returns the replication slots that no process reads, with the bytes of log that each keeps. */
export const readIdleSlots = `
  select slot_name::text,
         case when pg_is_in_recovery() or restart_lsn is null then '0'
              else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint::text end
    from pg_replication_slots
   where not active and restart_lsn is not null`

/**
 * $1 schema, $2 names of tables. Returns the tables whose rows row-level security may hide from this user.
 * It hides none if a permissive policy with the condition `true` applies to each command, and no restrictive
 * one.
 */
export const readHiddenTables = `
  with policy as (
    select polrelid, polcmd::text as command, polpermissive, pg_get_expr(polqual, polrelid) as condition
      from pg_policy
     where exists (select from unnest(polroles) as role
                    where case when role = 0 then true else pg_has_role(role, 'usage') end)
  )
  select relname::text, current_user::text
    from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = $1 and relname = any($2::text[]) and relkind in ('r', 'p')
     and row_security_active(pg_class.oid)
     and (exists (select from policy where polrelid = pg_class.oid and not polpermissive)
          or exists (select from unnest(array['r', 'w', 'd']) as needed
                      where not exists (select from policy
                                         where polrelid = pg_class.oid and polpermissive
                                           and command in ('*', needed) and condition = 'true')))
   order by relname`
