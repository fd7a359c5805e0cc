import { equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { describeError, describeWithin } from '../src/describe-error.ts'
import { errorChain } from '../src/publishers/error-chain.ts'

describe('describeError', () => {
  it('gives the class, the message and the causes', () => {
    const error = new TypeError('a', { cause: new RangeError('b', { cause: 'c' }) })
    equal(describeError(error), 'TypeError: a; caused by RangeError: b; caused by Error: c')
    equal(describeError(undefined), 'Error: none given')
  })

  it('leaves the last full stop out within a sentence', () => {
    equal(describeWithin(new TypeError('Not bound to parameter 1.')), 'TypeError: Not bound to parameter 1')
    equal(describeWithin(new Error('no')), 'Error: no')
  })

  it('gives the errors that an error contains, wherever it is among the causes', () => {
    const refused = new AggregateError(
      [new Error('too large: 2000 bytes'), new Error('no leader')],
      'no batch',
    )
    equal(
      describeError(new Error('not sent', { cause: refused })),
      'Error: not sent; caused by AggregateError: no batch (Error: too large: 2000 bytes, Error: no leader)',
    )
    class ClientErrors extends Error {
      readonly errors = [new Error('too large'), { path: 'a field of a form' }]
    }
    equal(describeError(new ClientErrors('no batch')), 'Error: no batch (Error: too large)')
  })

  it('says why every address of a host has refused a connection', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const [error] = (await once(connect({ host: 'localhost', port }), 'error')) as [Error]
    match(describeError(error), /connect ECONNREFUSED/)
    match(describeError(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), /ECONNREFUSED/)
  })

  it('ends for errors that are their own causes, are nested deeply, or contain many others', () => {
    const own = new AggregateError([], 'own')
    own.cause = own
    own.errors.push(own, new Error('other', { cause: own }))
    equal(describeError(own), 'AggregateError: own (Error: other)')

    let deep = new Error('0')
    for (let depth = 1; depth < 2_000; depth++) deep = new AggregateError([deep], `${depth}`, { cause: deep })
    const wide = new AggregateError(Array.from({ length: 10_000 }, (_, number) => new Error(`${number}`)))
    for (const error of [deep, wide]) {
      ok(describeError(error).length < 500)
      ok(errorChain(error).length <= 20)
    }
    match(describeError(wide), /\(Error: 0, Error: 1, Error: 2, and 9997 more\)/)
  })

  it('leaves out failed statements and their values', () => {
    const driver = Object.assign(new Error('duplicate key'), { code: '23505' })
    const query = 'insert into orders values ($1)'
    const ofDrizzle = Object.assign(new Error(`Failed query: ${query}\nparams: secret`, { cause: driver }), {
      query,
    })
    equal(describeError(ofDrizzle), 'Error: Failed query; caused by Error: duplicate key')
    const ofKnex = Object.assign(new Error(`insert into orders values ('secret - 1') - duplicate key`), {
      code: '23505',
    })
    equal(describeError(ofKnex), 'Error: duplicate key')
    const ofMariadb = Object.assign(new Error(`(conn:1) too long\nsql: insert into a values ('secret')`), {
      sqlMessage: 'too long',
    })
    equal(describeError(ofMariadb), 'Error: too long')
    const ofPrisma = Object.assign(
      new Error('\nInvalid `create()` invocation:\n{ data: "secret" }\n\nNo such field.'),
      {
        name: 'PrismaClientValidationError',
      },
    )
    equal(describeError(ofPrisma), 'PrismaClientValidationError: No such field.')
    equal(describeError(new Error('update the app - then retry')), 'Error: update the app - then retry')
  })

  it('describes errors that cannot be read', () => {
    const unreadable = Object.defineProperty(new Error('a'), 'message', {
      get: () => {
        throw new Error('no')
      },
    })
    equal(describeError(unreadable), 'Error: it cannot even be described')
    ok(errorChain(Object.assign(new AggregateError([]), { errors: 7 })).length === 1)
    match(describeError(Object.assign(new AggregateError([]), { errors: 7 })), /^AggregateError/)
  })
})
