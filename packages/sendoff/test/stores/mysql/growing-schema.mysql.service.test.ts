import { runMysqlGrowingSchema } from './run-growing-schema.ts'

runMysqlGrowingSchema('MYSQL_URL')
