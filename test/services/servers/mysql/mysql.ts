import type { Service } from '../../service.ts'

/** MySQL 8.0 or newer. Debian has no package of it, so that its address has to be given. */
export const mysql: Service = {
  name: 'mysql',
  urlVariable: 'MYSQL_URL',
  extra: true,

  find: async () => false,

  start: () => Promise.reject(new Error('MySQL is not started here. Set MYSQL_URL to the address of one.')),
}
