import { redis } from '../../../test/services/servers/redis/redis.ts'
import { bullmqDrain, bullmqSteady } from '../../peers/bullmq.ts'
import type { StoreBench } from '../../store-bench.ts'
import { drainSubjects } from '../../suites/drain.ts'
import { twoDestinationSubjects } from '../../suites/two-destinations.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { observeSuite } from '../../suites/observe.ts'
import { outageSubjects } from '../../suites/outage.ts'
import { steadySubjects } from '../../suites/steady/steady-systems.ts'
import { writeSubjects } from '../../suites/write.ts'
import { drivers, redisDatabases } from './redis-database.ts'
import { commandCount, removeDatabases, serverCpuUs } from './redis-server.ts'

export const redisBench: StoreBench = {
  name: 'redis',
  drivers,
  rounds: 3,
  services: [redis],
  suites: {
    observe: observeSuite(redisDatabases),
    drain: { subjects: [...drainSubjects(redisDatabases), bullmqDrain], peer: 'bullmq' },
    destinations: { subjects: twoDestinationSubjects(redisDatabases), limit: 'sendoff-two-tables' },
    write: { subjects: writeSubjects(redisDatabases, { concurrent: true, serverCpuUs }) },
    latency: { subjects: latencySubjects(redisDatabases) },
    outage: { subjects: outageSubjects(redisDatabases), rounds: 1 },
    steady: {
      subjects: [
        ...steadySubjects(redisDatabases, async () => ({ statements: await commandCount() }), {
          inOrder: false,
        }),
        bullmqSteady,
      ],
      peer: 'bullmq',
      rounds: 1,
      drawsSeconds: true,
    },
    idle: { subjects: idleSubjects(redisDatabases), seconds: 20 },
  },
  cleanUp: removeDatabases,
}
