/** Whether tests and benchmarks of MariaDB run on MySQL: `test/mysql-column` sets the variable. */
export const isOnMysql = process.env['SENDOFF_ON_MYSQL'] === 'yes'
