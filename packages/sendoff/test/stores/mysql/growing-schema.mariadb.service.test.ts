import { runMysqlGrowingSchema } from './run-growing-schema.ts'

runMysqlGrowingSchema('MARIADB_URL')
