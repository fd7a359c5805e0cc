import { equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpRequester, type HttpRequesterOptions } from '../../../src/publishers/http/http-requester.ts'
import { noContent, type RequestScript, ScriptedReceiver } from './scripted-receiver.ts'

describe('HttpRequester', () => {
  const setUp = async (
    test: TestContext,
    script: RequestScript,
    options: Partial<HttpRequesterOptions> & RequestFixture = {},
  ) => {
    const { protocol = 'http', body = new Uint8Array(), readsBytes, ...requesterOptions } = options
    const receiver = await ScriptedReceiver.start(script, readsBytes)
    test.after(() => receiver.close())
    const requester = new HttpRequester({
      timeoutMs: 60_000,
      maxConcurrentRequests: 32,
      idleMs: 60_000,
      allowRedirects: true,
      allowPrivateAddresses: true,
      ...requesterOptions,
    })
    const url = new URL(`${protocol}://127.0.0.1:${receiver.port}/`)
    const aborter = new AbortController()
    const request = (beginUntil = Infinity): Promise<void> =>
      requester.request({ url, method: 'POST', headers: {}, body }, { signal: aborter.signal, beginUntil })
    return { receiver, request, aborter }
  }

  it('sends a request again when the receiver closed the idle connection that it went over', async (test) => {
    const { receiver, request } = await setUp(test, (socket, _request, ofConnection) => {
      if (ofConnection === 1) socket.write(noContent)
      else socket.resetAndDestroy()
    })
    await request()
    await request()
    equal(receiver.requests, 3)
  })

  it('sends a request twice at the most to a receiver that resets connections', async (test) => {
    const { receiver, request } = await setUp(test, (socket, number) => {
      if (number <= 2) socket.write(noContent)
      else socket.resetAndDestroy()
    })
    await Promise.all([request(), request()])
    await rejects(request(), { name: 'HttpConnectionError', reason: 'broken' })
    equal(receiver.requests, 4)
  })

  it('does not send a request again once a response has begun', async (test) => {
    const { receiver, request } = await setUp(test, (socket, number) => {
      if (number === 1) socket.write(noContent)
      else socket.write('HTTP/1.1 2', () => setTimeout(() => socket.resetAndDestroy(), 20))
    })
    await request()
    await rejects(request(), { name: 'HttpConnectionError', reason: 'broken' })
    equal(receiver.requests, 2)
  })

  it('runs a limited number of requests at a time, and the others in their turn', async (test) => {
    let running = 0
    let most = 0
    const answerLater = async (socket: Socket): Promise<void> => {
      most = Math.max(most, ++running)
      await delay(5)
      running -= 1
      socket.write(noContent)
    }
    const { receiver, request } = await setUp(test, (socket) => void answerLater(socket), {
      maxConcurrentRequests: 2,
    })
    await Promise.all(Array.from({ length: 12 }, () => request()))
    equal(receiver.requests, 12)
    equal(most, 2)
  })

  it('sends no request whose turn comes after the batch was aborted, or too late', async (test) => {
    const sockets: Socket[] = []
    const { receiver, request, aborter } = await setUp(test, (socket) => void sockets.push(socket), {
      maxConcurrentRequests: 1,
    })
    const late = { name: 'HttpUnsentError' }
    const first = request()
    const second = rejects(request(performance.now()), late)
    while (sockets.length === 0) await delay(1)
    sockets[0]!.write(noContent)
    await first
    await second

    const third = rejects(request(), /broken off/)
    const fourth = rejects(request(), late)
    while (sockets.length === 1) await delay(1)
    aborter.abort(new Error('It was broken off.'))
    await Promise.all([third, fourth])
    await rejects(request(), late)
    equal(receiver.requests, 2)
  })

  it('treats a receiver as unreachable while nothing of the request can be sent', async (test) => {
    // A server that keeps silent when a TLS session is to begin.
    const { receiver, request } = await setUp(test, () => {}, { protocol: 'https', timeoutMs: 200 })
    await rejects(request(), { name: 'HttpConnectionError', reason: 'unreachable' })
    equal(receiver.requests, 0)
  })

  it('closes connections that have been idle for a while', async (test) => {
    const sockets: Socket[] = []
    const { request } = await setUp(
      test,
      (socket) => {
        sockets.push(socket)
        socket.write(noContent)
      },
      { idleMs: 50 },
    )
    await request()
    await once(sockets[0]!, 'close')
  })

  it('ends a connection whose receiver replies without reading the request', async (test) => {
    const sockets: Socket[] = []
    const answerUnread: RequestScript = (socket) => {
      sockets.push(socket)
      socket.pause()
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    }
    const { request } = await setUp(test, answerUnread, { body: new Uint8Array(50_000_000), readsBytes: 0 })
    await request()
    sockets[0]!.resume()
    await once(sockets[0]!, 'close')
  })
})

interface RequestFixture {
  readonly protocol?: 'http' | 'https'
  readonly body?: Uint8Array
  /** How many bytes of the body the receiver waits for. */
  readonly readsBytes?: number
}
