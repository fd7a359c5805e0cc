import { isIP } from 'node:net'
import { type MariadbPool, type Mysql2Pool, mysqlStore } from 'sendoff/mysql'
import { OutboxError } from 'sendoff/store'
import { given } from '../given.ts'
import { requirePackage } from './load-package.ts'
import { takeMysqlTls } from './mysql-tls.ts'
import { type ClientOptions, connectTimeoutMs, type StoreClient } from './store-client.ts'

/** Opens a store in MySQL or MariaDB, by mysql2 or mariadb. */
export function mysqlClient(url: URL, { connections, table }: ClientOptions): StoreClient {
  const { name, module } = requirePackage('MySQL', ['mysql2/promise', 'mariadb'])
  const pool = (module as PoolModule).createPool(mysqlPoolOptions(name, url, connections))
  return {
    storeOf: (partitionBy) => mysqlStore({ client: pool, ...given({ table, partitionBy }) }),
    async connect() {
      const connection = await pool.getConnection()
      await connection.release()
    },
    close: () => pool.end(),
  }
}

/** Returns the options of a pool, as the driver of this name takes them. */
export function mysqlPoolOptions(
  driver: 'mysql2/promise' | 'mariadb',
  address: URL,
  connections: number,
): object {
  const url = new URL(address)
  const ssl = takeMysqlTls(url)
  if (driver === 'mysql2/promise' && ssl?.verifyIdentity && isIP(url.hostname) !== 0) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'mysql2 cannot check that a certificate is for an IP address. Use the name of the server, ssl-mode=VERIFY_CA, or the driver mariadb.',
    )
  }
  const common = {
    connectionLimit: connections,
    connectTimeout: connectTimeoutMs,
    ...(ssl !== undefined && { ssl }),
  }
  return driver === 'mysql2/promise'
    ? { uri: withScheme(url, 'mysql:'), enableKeepAlive: true, ...common }
    : {
        ...partsOf(url),
        acquireTimeout: connectTimeoutMs,
        initializationTimeout: connectTimeoutMs,
        ...common,
      }
}

interface PoolModule {
  createPool(options: object): (Mysql2Pool | MariadbPool) & { end(): Promise<void> }
}

function withScheme(url: URL, scheme: string): string {
  return url.href.replace(/^[^:]+:/, scheme)
}

function partsOf(url: URL): object {
  return {
    host: url.hostname,
    port: url.port === '' ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    ...Object.fromEntries(url.searchParams),
  }
}
