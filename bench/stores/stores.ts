import type { StoreBench } from '../store-bench.ts'
import { mysqlBench } from './mysql/mysql-bench.ts'
import { postgresBench } from './postgres/postgres-bench.ts'
import { redisBench } from './redis/redis-bench.ts'
import { sqliteBench } from './sqlite/sqlite-bench.ts'

/** Every store that can be measured. */
export const stores: readonly StoreBench[] = [sqliteBench, postgresBench, mysqlBench, redisBench]
