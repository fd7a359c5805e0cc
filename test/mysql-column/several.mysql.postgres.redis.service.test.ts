import { runOnMysql } from './run-on-mysql.ts'

const here = new Set(['mariadb', 'postgres', 'redis'])

runOnMysql(
  'several stores at once',
  ['packages/'],
  (services) => services.length > 1 && services.every((name) => here.has(name)),
)
