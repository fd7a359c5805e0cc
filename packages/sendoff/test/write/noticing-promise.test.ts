import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NoticingPromise } from '../../src/write/noticing-promise.ts'

type Use = (promise: Promise<unknown>) => unknown

const ignore = () => {}

const hearing: Readonly<Record<string, Use>> = {
  await: async (promise) => {
    try {
      await promise
    } catch {}
  },
  'an async function that returns it': (promise) => (async () => promise)().catch(ignore),
  catch: (promise) => promise.catch(ignore),
  'then with two callbacks': (promise) => promise.then(ignore, ignore),
  'Promise.all': (promise) => Promise.all([promise]).catch(ignore),
  'Promise.allSettled': (promise) => Promise.allSettled([promise]),
  'Promise.race': (promise) => Promise.race([promise]).catch(ignore),
  'catch behind then and finally': (promise) => promise.then(ignore).finally(ignore).catch(ignore),
}

/** Their promises are silenced, so that Node does not report them as unhandled. */
const deaf: Readonly<Record<string, Use>> = {
  nothing: ignore,
  'then with one callback': (promise) => silenced(promise.then(ignore)),
  'then with null': (promise) => silenced(promise.then(ignore, null)),
  finally: (promise) => silenced(promise.finally(ignore)),
  'finally behind then': (promise) => silenced(silenced(promise.then(ignore)).finally(ignore)),
}

function silenced(promise: Promise<unknown>): Promise<unknown> {
  ;(promise as NoticingPromise<unknown>).silence()
  return promise
}

async function isHeardBy(use: Use): Promise<boolean> {
  const promise = new NoticingPromise((_, reject) => setImmediate(() => reject(new Error('no'))))
  promise.silence()
  await use(promise)
  await new Promise((resolve) => setImmediate(resolve))
  return promise.isHeard
}

describe('a promise that notices whether code sees its rejection', () => {
  for (const [name, use] of Object.entries(hearing)) {
    it(`counts ${name} as seeing the rejection`, async () => equal(await isHeardBy(use), true))
  }
  for (const [name, use] of Object.entries(deaf)) {
    it(`does not count ${name} as seeing the rejection`, async () => {
      const promise = new NoticingPromise((_, reject) => setImmediate(() => reject(new Error('no'))))
      promise.silence()
      void use(promise)
      await new Promise((resolve) => setImmediate(resolve))
      equal(promise.isHeard, false)
    })
  }

  it('passes its value on', async () => {
    equal(await new NoticingPromise<number>((resolve) => resolve(1)).then((value) => value + 1), 2)
    equal(await new NoticingPromise<number>((resolve) => resolve(1)).finally(ignore), 1)
  })
})
