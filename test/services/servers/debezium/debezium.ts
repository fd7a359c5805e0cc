import { mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { runCommand } from '../../processes/run-command.ts'
import type { Service } from '../../service.ts'
import { debeziumJars } from './debezium-jars.ts'

const source = join(import.meta.dirname, '../../../../examples/debezium/OutboxRelay.java')

/**
 * The program of the example for Debezium, compiled, with the engine from Maven Central. Its address is a class
 * path: tests start the program themselves.
 */
export const debezium: Service = {
  name: 'debezium',
  urlVariable: 'DEBEZIUM_CLASS_PATH',

  async find() {
    if (findProgram('javac') === undefined) return false
    await debeziumJars.fetch()
    return debeziumJars.areHere
  },

  async install() {
    await installDebianPackages('openjdk-17-jdk-headless')
    await debeziumJars.fetch()
  },

  async start(folder) {
    const classes = join(folder, 'classes')
    mkdirSync(classes)
    await runCommand(findProgram('javac')!, ['-cp', debeziumJars.classPath, '-d', classes, source])
    return { url: [classes, debeziumJars.classPath].join(delimiter), stop: async () => {} }
  },
}
