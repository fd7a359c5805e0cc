import { cliZones, dashboardZones, type ImportRule, nestjsZones, sendoffZones } from './dependency-rule.ts'

/** What the checks need to know about a package of the project. */
export interface PackageRule extends ImportRule {
  /** The most bytes of all exports of its front door in a bundle: without comments, not minified, compressed. */
  readonly bundleLimit: number
  /** Whether it is packed with the pages of the project, instead of those in its own folder. */
  readonly hasProjectPages?: true
  /** Files beside its modules that are packed with it: patterns within its folder. */
  readonly assets?: readonly string[]
}

/** The packages of the project, by name. A package without a rule fails the checks. */
export const packageRules: Readonly<Record<string, PackageRule>> = {
  sendoff: { zones: sendoffZones, imports: [], bundleLimit: 90_000, hasProjectPages: true },
  '@sendoff/cli': {
    zones: cliZones,
    imports: [
      '@sendoff/dashboard',
      'commander',
      'jiti',
      'sendoff',
      // Clients of databases and brokers: the user installs those that are needed.
      '@nats-io/jetstream',
      '@nats-io/transport-node',
      '@platformatic/kafka',
      'amqplib',
      'better-sqlite3',
      'ioredis',
      'kafkajs',
      'mariadb',
      'mysql2',
      'nodemailer',
      'pg',
      'postgres',
      'rabbitmq-client',
      'redis',
    ],
    loaders: ['config/load-config.ts'],
    bundleLimit: 20_000,
  },
  '@sendoff/nestjs': {
    zones: nestjsZones,
    imports: ['sendoff', '@sendoff/dashboard', '@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
    bundleLimit: 100_000,
  },
  '@sendoff/dashboard': {
    zones: dashboardZones,
    imports: ['sendoff'],
    bundleLimit: 20_000,
    assets: ['openapi.json', 'dist/page/*.*'],
  },
}
