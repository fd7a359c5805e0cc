import type { Socket } from 'node:net'
import { ScriptedReceiver } from './scripted-receiver.ts'

/** Reacts to a request, once the receiver has read all of it. */
type Misbehaviour = (socket: Socket) => void

const drip = (socket: Socket, text: string): void => {
  const timer = setInterval(() => socket.write(text), 20)
  socket.once('close', () => clearInterval(timer))
}

/** Replies with a sound status, which is what counts, and misbehaves after it. */
const afterStatus: Readonly<Record<string, Misbehaviour>> = {
  drippingBody(socket) {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
    drip(socket, 'x')
  },
  resetBody(socket) {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nx', () =>
      setTimeout(() => socket.resetAndDestroy(), 5),
    )
  },
  endlessBody(socket) {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const fill = (): void => {
      if (!socket.destroyed && socket.write(chunk)) setImmediate(fill)
    }
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    socket.on('drain', fill)
    fill()
  },
  tooLongLength(socket) {
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nshort')
  },
  tooShortLength(socket) {
    socket.write(
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 999 more than promised\r\n\r\nand more',
    )
  },
  badChunks(socket) {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno number\r\n')
  },
}

/** Gives no readable response. */
const withoutAnswer: Readonly<Record<string, Misbehaviour>> = {
  silence() {},
  resets: (socket) => void socket.resetAndDestroy(),
  closes: (socket) => void socket.end(),
  drippingHeaders(socket) {
    socket.write('HTTP/1.1 200 OK\r\n')
    drip(socket, 'x-more: 1\r\n')
  },
  endlessHeaders(socket) {
    socket.write(`HTTP/1.1 200 OK\r\nx-more: ${'x'.repeat(100_000)}`)
  },
  endlessHints(socket) {
    drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')
  },
  brokenStatusLine(socket) {
    socket.write('HTTP/1.1 2', () => setTimeout(() => socket.resetAndDestroy(), 5))
  },
  badStatusLine(socket) {
    socket.write('SSH-2.0-OpenSSH_9.2\r\n')
  },
  upgrades(socket) {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
  },
}

/** Replies that the event is not to come again. */
const refusing: Readonly<Record<string, Misbehaviour>> = {
  redirectsForEver(socket) {
    socket.write('HTTP/1.1 307 On\r\nlocation: /\r\ncontent-length: 0\r\n\r\n')
  },
  redirectsElsewhere(socket) {
    socket.write('HTTP/1.1 307 On\r\nlocation: ftp://127.0.0.1/\r\ncontent-length: 0\r\n\r\n')
  },
  redirectsNowhere(socket) {
    socket.write('HTTP/1.1 307 On\r\nlocation: http://[\r\ncontent-length: 0\r\n\r\n')
  },
  drippingRefusal(socket) {
    socket.write('HTTP/1.1 400 No\r\ncontent-length: 100000\r\n\r\n')
    drip(socket, 'x')
  },
}

const all = { ...afterStatus, ...withoutAnswer, ...refusing }

export const misbehaviours = {
  afterStatus: Object.keys(afterStatus),
  withoutAnswer: Object.keys(withoutAnswer),
  refusing: Object.keys(refusing),
}

/** Starts a server that misbehaves in one way. */
export function startHostileReceiver(misbehaviour: string): Promise<ScriptedReceiver> {
  return ScriptedReceiver.start(all[misbehaviour]!)
}
