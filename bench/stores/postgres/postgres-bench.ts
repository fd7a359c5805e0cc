import { postgres } from '../../../test/services/servers/postgres/postgres.ts'
import { kafkaBroker } from '../../brokers/kafka.ts'
import { natsBroker } from '../../brokers/nats.ts'
import { rabbitmqBroker } from '../../brokers/rabbitmq.ts'
import { bullmqDrain, bullmqSteady } from '../../peers/bullmq.ts'
import { graphileWorker } from '../../peers/graphile-worker.ts'
import { peerDrain, peerIdle, peerLatency, peerSteady, peerWrites } from '../../peers/peer-subjects.ts'
import { pgBoss } from '../../peers/pg-boss.ts'
import { pgTransactionalOutbox } from '../../peers/pg-transactional-outbox.ts'
import type { StoreBench } from '../../store-bench.ts'
import { adminSuite } from '../../suites/admin.ts'
import { drainSubjects } from '../../suites/drain.ts'
import { twoDestinationSubjects } from '../../suites/two-destinations.ts'
import { growthSuite } from '../../suites/growth.ts'
import { inboxSuite } from '../../suites/inbox.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { observeSuite } from '../../suites/observe.ts'
import { operatorSuite } from '../../suites/operator.ts'
import { orderedSubjects } from '../../suites/ordered.ts'
import { outageSubjects } from '../../suites/outage.ts'
import { relaySubjects } from '../../suites/relay.ts'
import { steadySubjects } from '../../suites/steady/steady-systems.ts'
import { strainedSubjects } from '../../suites/steady/strained-subjects.ts'
import { sustainedSubject } from '../../suites/sustained.ts'
import { writeSubjects } from '../../suites/write.ts'
import { postgresAdminTables, postgresGrownTables } from './grown-tables.ts'
import { postgresInboxTables } from './inbox-tables.ts'
import { limitDrains } from './limit-drains.ts'
import { limitInsert } from './limit-insert.ts'
import { postgresDatabases, tableState } from './postgres-database.ts'
import { postgresDisturbances, readGauge } from './postgres-gauge.ts'
import { databaseUrl, dropDatabases, serverCpuUs } from './postgres-server.ts'

const peer = graphileWorker.name
const wokenPgBoss = pgBoss({ notify: true })

export const postgresBench: StoreBench = {
  name: 'postgres',
  drivers: ['pg'],
  rounds: 3,
  services: [postgres],
  suites: {
    observe: observeSuite(postgresDatabases),
    destinations: { subjects: twoDestinationSubjects(postgresDatabases), limit: 'sendoff-two-tables' },
    drain: {
      subjects: [
        ...drainSubjects(postgresDatabases),
        peerDrain(graphileWorker),
        peerDrain(pgBoss()),
        peerDrain(pgTransactionalOutbox),
        bullmqDrain,
        ...limitDrains,
      ],
      limit: 'limit-claim-update',
      peer,
    },
    admin: adminSuite(postgresDatabases, postgresAdminTables),
    operator: operatorSuite(postgresDatabases, postgresAdminTables, databaseUrl),
    ordered: { subjects: [...orderedSubjects(postgresDatabases), peerDrain(graphileWorker)], peer },
    write: {
      subjects: [
        ...writeSubjects(postgresDatabases, { concurrent: true, serverCpuUs }),
        peerWrites(graphileWorker),
        peerWrites(pgBoss()),
        limitInsert,
      ],
      limit: 'limit-insert',
      peer,
      // One connection waits for one process and then for the other. How fast they wake up varies from moment
      // to moment.
      rounds: 7,
      seconds: 1.5,
    },
    inbox: inboxSuite(postgresDatabases, postgresInboxTables, { concurrent: true, serverCpuUs }),
    latency: {
      subjects: [
        ...latencySubjects(postgresDatabases, { acrossProcesses: true }),
        peerLatency(graphileWorker),
        peerLatency(wokenPgBoss),
      ],
      peer,
    },
    idle: {
      subjects: [...idleSubjects(postgresDatabases), peerIdle(graphileWorker), peerIdle(wokenPgBoss)],
      peer,
      seconds: 60,
      together: true,
    },
    growth: growthSuite(postgresDatabases, postgresGrownTables),
    sustained: { subjects: [sustainedSubject(postgresDatabases, tableState)], rounds: 1, drawsItself: true },
    steady: {
      subjects: [
        ...steadySubjects(postgresDatabases, readGauge),
        peerSteady(graphileWorker),
        peerSteady(wokenPgBoss),
        peerSteady(pgTransactionalOutbox),
        bullmqSteady,
      ],
      peer,
      rounds: 1,
      drawsSeconds: true,
    },
    strained: {
      subjects: strainedSubjects(postgresDatabases, postgresDisturbances, readGauge),
      limit: 'sendoff-multi-node',
      rounds: 1,
      drawsSeconds: true,
    },
    outage: { subjects: outageSubjects(postgresDatabases), rounds: 1 },
    relay: {
      subjects: [
        ...relaySubjects(postgresDatabases, [kafkaBroker, rabbitmqBroker, natsBroker]),
        // The limit of the database alone, whatever the broker.
        ...limitDrains.filter(({ name }) => name === 'limit-claim-update'),
      ],
      limit: 'limit-claim-update',
    },
  },
  cleanUp: dropDatabases,
}
