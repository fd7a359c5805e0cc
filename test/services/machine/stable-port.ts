import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const lowest = 10_000
const handedOut = new Set<number>()

/**
 * Returns a free TCP port on the loopback address that stays free while its server is down. The system takes
 * ports for outgoing connections from a range of its own, and this port is not in it. Otherwise any client
 * could get it meanwhile, even one that tries to reach the server and then reaches itself.
 */
export async function stablePort(): Promise<number> {
  const end = lowestOutgoingPort()
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (end - lowest))
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    return port
  }
}

function lowestOutgoingPort(): number {
  try {
    const port = parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10)
    return Math.max(port, lowest + 1_000)
  } catch {
    // Other systems begin higher than Linux.
    return 32_768
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
