import type { OutboxPeople } from '../../store/index.ts'
import type { StoreDriver } from './drivers/mysql-driver.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The rows of a MySQL store, for operators. */
export function mysqlPeople(driver: StoreDriver, statements: MysqlStatements): OutboxPeople {
  return {
    query: (filter) => queryRows(driver, statements, filter),
    count: (filter) => countRows(driver, statements, filter),
    attempts: (row) => failedAttempts(driver, statements, row),
  }
}
