import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../machine/find-program.ts'
import { kafkaJars } from './kafka-jars.ts'
import { PrivateServer } from '../private-server.ts'
import { runCommand } from '../../processes/run-command.ts'
import { stablePort } from '../../machine/stable-port.ts'

const clusterId = 'c2VuZG9mZi10ZXN0cw'

const javaOptions = [
  '-Xms96m',
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
]

/** Returns whether this machine has what a broker needs. */
export function hasKafka(): boolean {
  return findProgram('java') !== undefined && kafkaJars.areHere
}

/** Brokers that are controllers as well, with their data in folders of their own. */
export interface KafkaCluster {
  /** `kafka://` and the addresses of all brokers, separated by commas. */
  readonly url: string
  /** By their ids, which begin with 0. */
  readonly brokers: readonly PrivateServer[]
  kill(): Promise<void>
}

/** Starts private Apache Kafka brokers, with their data in `folder`. */
export async function kafkaCluster(folder: string, size = 1): Promise<KafkaCluster> {
  if (!hasKafka()) throw new Error('There is no Java, or no Kafka from Maven Central, on this machine.')

  const nodes: KafkaNode[] = []
  for (let id = 0; id < size; id++) {
    nodes.push({
      id,
      folder: join(folder, `broker-${id}`),
      port: await stablePort(),
      controllerPort: await stablePort(),
    })
  }
  const brokers = await Promise.all(nodes.map((node) => preparedBroker(node, nodes)))
  const cluster = {
    url: `kafka://${nodes.map(addressOf).join(',')}`,
    brokers,
    async kill() {
      await Promise.all(brokers.map((broker) => broker.kill()))
    },
  }
  try {
    await Promise.all(brokers.map((broker) => broker.start()))
  } catch (error) {
    await cluster.kill()
    throw error
  }
  return cluster
}

/** Returns the addresses in a `kafka://` URL. */
export function bootstrapBrokers(url: string): string[] {
  return url.replace(/^kafka:\/\//, '').split(',')
}

interface KafkaNode {
  readonly id: number
  readonly folder: string
  readonly port: number
  readonly controllerPort: number
}

function addressOf({ port }: KafkaNode): string {
  return `127.0.0.1:${port}`
}

async function preparedBroker(node: KafkaNode, nodes: readonly KafkaNode[]): Promise<PrivateServer> {
  const { folder, port } = node
  mkdirSync(folder)
  const configuration = join(folder, 'server.properties')
  writeFileSync(configuration, propertiesOf(node, nodes))

  const command = findProgram('java')!
  const javaArguments = [...javaOptions, '-cp', kafkaJars.classPath]
  const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', configuration]
  await runCommand(command, [...javaArguments, ...format], { cwd: folder })
  return new PrivateServer({
    port,
    url: `kafka://${addressOf(node)}`,
    command,
    args: [...javaArguments, 'kafka.Kafka', configuration],
    readyOutput: /Kafka Server started/,
    cwd: folder,
  })
}

function propertiesOf({ id, folder, port, controllerPort }: KafkaNode, nodes: readonly KafkaNode[]): string {
  const replicas = Math.min(3, nodes.length)
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': nodes.map((node) => `${node.id}@127.0.0.1:${node.controllerPort}`).join(','),
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': false,
    'message.max.bytes': 524_288,
    'default.replication.factor': replicas,
    'min.insync.replicas': Math.max(1, replicas - 1),
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // The others notice a killed broker by its silence, and it may come back only then.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 500,
    'num.network.threads': 1,
    'num.io.threads': 2,
    'log.cleaner.enable': false,
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
