import mariadb, { type Pool as MariadbPool, type PoolConfig } from 'mariadb'
import mysql from 'mysql2/promise'

/** Where a server is, as both drivers take it. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

export function serverAddress(url: string): ServerAddress {
  const { hostname, port, username, password } = new URL(url)
  return {
    host: hostname,
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  }
}

/** A database of one test file's own, with whatever pools its tests open on it. */
export class MysqlDatabase {
  readonly name: string
  readonly #address: ServerAddress
  readonly #pools: { end(): Promise<void> }[] = []

  /** The name is unique as long as no process uses the same `subject` twice. */
  static async create(subject: string, url = process.env['MARIADB_URL']!): Promise<MysqlDatabase> {
    const database = new MysqlDatabase(`${subject}_${process.pid}`, serverAddress(url))
    await database.#run(`create database ${database.name}`)
    return database
  }

  private constructor(name: string, address: ServerAddress) {
    this.name = name
    this.#address = address
  }

  get url(): string {
    const { host, port, user, password } = this.#address
    return `mysql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}:${port}/${this.name}`
  }

  mysql2Pool(options: mysql.PoolOptions = {}): mysql.Pool {
    const pool = mysql.createPool({ ...this.#address, database: this.name, ...options })
    this.#pools.push(pool)
    return pool
  }

  mariadbPool(options: PoolConfig = {}): MariadbPool {
    const pool = mariadb.createPool({ ...this.#address, database: this.name, ...options })
    this.#pools.push(pool)
    return pool
  }

  async drop(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
    await this.#run(`drop database ${this.name}`)
  }

  async #run(sql: string): Promise<void> {
    const connection = await mysql.createConnection({ ...this.#address })
    await connection.query(sql)
    await connection.end()
  }
}
