import { postgresStore } from 'sendoff/postgres'
import { pool } from './shop.ts'

// The tables of the shop. In your project, run your own migrations here.
await pool.query(`
  create table if not exists orders (id text primary key, total numeric not null);
  create table if not exists shipments (order_id text primary key);
  create table if not exists account (balance numeric not null);
  insert into account select 1000 where not exists (select from account)`)

// The tables of the outbox. A second run changes nothing.
await postgresStore({ client: pool }).migrate()
await pool.end()
