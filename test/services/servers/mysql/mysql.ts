import type { Service } from '../../service.ts'

/** MySQL 8.0 or newer, where somebody has one: Debian has none, so that its address has to be given. */
export const mysql: Service = {
  name: 'mysql',
  urlVariable: 'MYSQL_URL',
  extra: true,

  find: async () => false,

  start: () => Promise.reject(new Error('MySQL is not started here. Set MYSQL_URL to the address of one.')),
}
