import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { redisServer, type RedisServer } from './redis-server.ts'
import { runCommand } from '../../processes/run-command.ts'
import type { Service } from '../../service.ts'
import { stablePort } from '../../machine/stable-port.ts'

/** A Redis Cluster of three masters, found by the address of one of them. */
export const redisCluster: Service = {
  name: 'redis-cluster',
  urlVariable: 'REDIS_CLUSTER_URL',

  async find() {
    return findProgram('redis-server') !== undefined && findProgram('redis-cli') !== undefined
  },

  install: () => installDebianPackages('redis-server'),

  async start(folder) {
    const servers = await redisClusterServers({ folder, replicas: 0 })
    // Killed, because its data is no longer needed.
    return {
      url: servers[0]!.url,
      stop: async () => void (await Promise.all(servers.map((server) => server.kill()))),
    }
  },
}

export interface RedisClusterOptions {
  /** An existing folder, in which each server gets its own. */
  readonly folder: string
  /** How many replicas the first master has. */
  readonly replicas: number
  /** How long a server is silent before the others vote on its successor, in ms. */
  readonly nodeTimeoutMs?: number
}

const masters = 3
const slots = 16_384

/**
 * Starts three masters that share the slots, and the replicas of the first. Returns the masters, then the
 * replicas. Resolves when all agree.
 */
export async function redisClusterServers(options: RedisClusterOptions): Promise<readonly RedisServer[]> {
  const { replicas, nodeTimeoutMs = 2_000 } = options
  const servers: RedisServer[] = []
  try {
    for (let index = 0; index < masters + replicas; index++) {
      servers.push(await clusterServer(join(options.folder, `node-${index}`), nodeTimeoutMs))
    }
    await united(servers)
    return servers
  } catch (error) {
    await Promise.all(servers.map((server) => server.kill()))
    throw error
  }
}

async function united(servers: readonly RedisServer[]): Promise<void> {
  for (const [index, server] of servers.entries()) {
    await cluster(server, 'set-config-epoch', String(index + 1))
    if (index < masters) await cluster(server, 'addslotsrange', ...slotsOf(index))
  }
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]]
  for (const server of others) await cluster(server, 'meet', '127.0.0.1', String(first.port), busPort(first))

  await agreed(servers, (state) => state.includes(`cluster_known_nodes:${servers.length}`))
  for (const replica of servers.slice(masters)) {
    await cluster(replica, 'replicate', (await cluster(first, 'myid')).trim())
  }
  await agreed(servers, (state) => state.includes('cluster_state:ok'))
  const replicas = servers.length - masters
  await until(first, 'nodes', (nodes) => (nodes.match(/ slave /g)?.length ?? 0) === replicas)
}

const busPorts = new WeakMap<RedisServer, number>()

async function clusterServer(folder: string, nodeTimeoutMs: number): Promise<RedisServer> {
  mkdirSync(folder)
  const bus = await stablePort()
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': String(bus),
    'cluster-node-timeout': String(nodeTimeoutMs),
    'cluster-replica-validity-factor': '0',
  }
  const server = await redisServer({ folder, persistence: 'none', settings })
  busPorts.set(server, bus)
  return server
}

function busPort(server: RedisServer): string {
  return String(busPorts.get(server))
}

function slotsOf(index: number): readonly [first: string, last: string] {
  const start = (part: number) => Math.floor((slots * part) / masters)
  return [String(start(index)), String(start(index + 1) - 1)]
}

/** Runs a CLUSTER command. */
export function cluster(server: RedisServer, ...words: readonly string[]): Promise<string> {
  return runCommand(findProgram('redis-cli')!, ['-p', String(server.port), 'cluster', ...words])
}

async function agreed(servers: readonly RedisServer[], isSo: (state: string) => boolean): Promise<void> {
  for (const server of servers) await until(server, 'info', isSo)
}

/** Polls a server until its reply is as it should be. */
async function until(server: RedisServer, what: string, isSo: (answer: string) => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  for (let answer = await cluster(server, what); !isSo(answer); answer = await cluster(server, what)) {
    if (performance.now() > deadline) throw new Error(`The servers of a Cluster do not agree:\n${answer}`)
    await delay(50)
  }
}
