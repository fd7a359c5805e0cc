import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Cluster } from 'ioredis'
import { cluster, redisCluster, redisClusterServers } from './redis-cluster.ts'
import { processesWithin } from '../started-service.ts'
import { temporaryFolder } from '../../machine/temporary-folder.ts'

// If the address of a server is given, this machine may have none to start.
const skip = !(await redisCluster.find()) && 'redis is not on this machine'

describe('the service redis-cluster', () => {
  it('is up, with three masters that share the slots', async (test) => {
    const client = new Cluster([process.env['REDIS_CLUSTER_URL']!])
    test.after(() => client.disconnect())
    const keys = Array.from({ length: 30 }, (_, index) => `cluster-test-${process.pid}-${index}`)
    await Promise.all(keys.map((key) => client.set(key, key)))

    deepEqual(await Promise.all(keys.map((key) => client.get(key))), keys)
    equal(client.nodes('master').length, 3)
  })
})

describe('a private Cluster', { skip }, () => {
  it('has the requested replicas, and leaves nothing behind', async (test) => {
    const folder = temporaryFolder('cluster')
    test.after(() => folder.remove())
    const servers = await redisClusterServers({ folder: folder.path, replicas: 1 })
    const nodes = await cluster(servers[0]!, 'nodes')
    const id = (await cluster(servers[0]!, 'myid')).trim()
    equal(nodes.match(/ (?:myself,)?master /g)?.length, 3)
    equal(nodes.includes(` slave ${id} `), true)

    await Promise.all(servers.map((server) => server.kill()))
    deepEqual(processesWithin(folder.path), [])
  })
})
