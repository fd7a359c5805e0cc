import { deepEqual, match, rejects } from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Client } from 'pg'
import { type FaultProxy, faultProxy } from './fault-proxy.ts'

describe('the fault proxy before PostgreSQL', () => {
  const table = 'fault_proxy_test'
  let proxy: FaultProxy
  let direct: Client
  let proxied: Client

  beforeEach(async () => {
    const url = process.env['POSTGRES_URL']!
    proxy = await faultProxy(url)
    direct = new Client(url)
    proxied = new Client(proxy.url)
    proxied.on('error', () => {})
    await direct.connect()
    await proxied.connect()
    await direct.query(`create table ${table} (value text)`)
  })

  afterEach(async () => {
    await proxy.close()
    await proxied.end()
    await direct.query(`drop table ${table}`)
    await direct.end()
  })

  it('loses the reply to a commit that has happened', async () => {
    const lost = proxy.loseNextAnswerTo('COMMIT', 'COMMIT')
    await proxied.query('begin')
    await proxied.query(`insert into ${table} values ('kept')`)

    await rejects(proxied.query('commit'), isLostConnection)
    await lost
    deepEqual((await direct.query(`select value from ${table}`)).rows, [{ value: 'kept' }])
  })

  it('keeps a statement from the server while half-open, and its session open', async () => {
    await proxied.query(`begin; lock table ${table} in access share mode`)
    proxy.halfOpen()
    const unanswered = rejects(proxied.query(`insert into ${table} values ('lost')`), isLostConnection)

    await rejects(
      direct.query(`set lock_timeout = 1; lock table ${table} in access exclusive mode`),
      /lock timeout/,
    )
    proxy.cut()
    await unanswered
    await direct.query('set lock_timeout = 0')
    deepEqual((await direct.query(`select value from ${table}`)).rows, [])
  })
})

function isLostConnection(error: Error): boolean {
  match(error.message, /ECONNRESET|Connection terminated/)
  return true
}
