import { UnrecoverableError } from '../../errors.ts'
import { asciiValue } from '../wire-message.ts'
import type { NatsMessageHeaders } from './nats-client.ts'

/**
 * Headers in the form of NATS. The user passes in the client, so the library cannot import the headers of its
 * package.
 */
export class NatsHeaders implements NatsMessageHeaders {
  readonly #values = new Map<string, string>()

  constructor(headers: Readonly<Record<string, string>>) {
    for (const [name, value] of Object.entries(headers)) {
      if (!/^[!-9;-~]+$/.test(name)) {
        throw new UnrecoverableError(`"${name}" cannot be the name of a NATS header.`)
      }
      this.#values.set(name, asciiValue(value))
    }
  }

  get(name: string): string {
    return this.#values.get(name) ?? ''
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  keys(): string[] {
    return [...this.#values.keys()]
  }

  /** Returns the headers as they go over the wire. */
  encode(): Uint8Array {
    let text = 'NATS/1.0\r\n'
    for (const [name, value] of this.#values) text += `${name}: ${value}\r\n`
    return Buffer.from(`${text}\r\n`, 'latin1')
  }
}
