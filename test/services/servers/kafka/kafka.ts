import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { hasKafka, kafkaCluster } from './kafka-cluster.ts'
import { kafkaJars } from './kafka-jars.ts'
import type { Service } from '../../service.ts'

/** One broker of Apache Kafka, from Maven Central. */
export const kafka: Service = {
  name: 'kafka',
  urlVariable: 'KAFKA_URL',

  async find() {
    // Fetching needs no rights, unlike installing.
    if (findProgram('java') !== undefined) await kafkaJars.fetch()
    return hasKafka()
  },

  async install() {
    await installDebianPackages('openjdk-17-jre-headless')
    await kafkaJars.fetch()
  },

  async start(folder) {
    const cluster = await kafkaCluster(folder)
    // Killed, because its data is no longer needed.
    return { url: cluster.url, stop: () => cluster.kill() }
  },
}
