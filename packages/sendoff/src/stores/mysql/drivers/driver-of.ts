import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import { mariadbConnector } from './mariadb-connector.ts'
import type { MariadbPool, Mysql2CallbackPool, Mysql2Pool } from './mysql-client.ts'
import type { DriverOptions, MysqlDriver } from './mysql-driver.ts'
import { mysql2Connector } from './mysql2-connector.ts'
import { poolDriver } from './pool-driver.ts'

/** Returns the driver for a client, judged by its methods. */
export function driverOf(client: unknown, options: DriverOptions): MysqlDriver<object> {
  if (has(client, 'getConnection', 'query', 'activeConnections')) {
    return known(poolDriver(mariadbConnector(client as MariadbPool), options))
  }
  if (has(client, 'getConnection', 'promise')) {
    return known(poolDriver(mysql2Connector((client as Mysql2CallbackPool).promise()), options))
  }
  if (has(client, 'getConnection', 'query'))
    return known(poolDriver(mysql2Connector(client as Mysql2Pool), options))

  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "client" of mysqlStore must be a pool of mysql2 or of mariadb, not ${kindOf(client)}.`,
  )
}

function has(client: unknown, ...methods: readonly string[]): boolean {
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null) return false
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}

// Each driver accepts only the transactions that it has handed out itself.
function known<Tx extends object>(driver: MysqlDriver<Tx>): MysqlDriver<object> {
  return driver
}
