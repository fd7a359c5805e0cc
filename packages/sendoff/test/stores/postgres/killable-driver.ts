import type { PostgresDriver, PostgresSession } from '../../../src/stores/postgres/drivers/postgres-driver.ts'

/** Returns a driver that asks before every statement and commit whether its process was killed. */
export function killable<Tx extends object>(
  driver: PostgresDriver<Tx>,
  killer: { step(): void },
): PostgresDriver<Tx> {
  const counted = (session: PostgresSession): PostgresSession => ({
    async run(statement, values) {
      killer.step()
      return session.run(statement, values)
    },
  })
  return {
    ...driver,
    ...counted(driver),
    transaction: (work, isolation) =>
      driver.transaction(async (tx) => {
        const result = await work(tx)
        killer.step()
        return result
      }, isolation),
    session: (tx) => counted(driver.session(tx)),
  }
}
