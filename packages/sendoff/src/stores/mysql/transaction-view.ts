import { endingView } from '../sql/ending-view.ts'
import type { Connector } from './connector.ts'
import type { TransactionWatch } from './transaction-watch.ts'

type Method = (...parameters: unknown[]) => unknown

const ignore = () => {}

/** A connection as the code of a transaction may use it, until that ends. What the code does is watched. */
export function transactionView<Connection extends object>(
  connection: Connection,
  watch: TransactionWatch,
  { watched, unwatched }: Pick<Connector<Connection>, 'watched' | 'unwatched'>,
  assertOpen: () => void,
): Connection {
  // Code that was written for a connection of its own releases it at its end. Here that is not its task.
  const replaced: Record<string, unknown> = { release: ignore, end: ignore }

  for (const name of watched) {
    const method = (connection as Record<string, unknown>)[name] as Method
    replaced[name] = async (...parameters: unknown[]) => {
      assertOpen()
      watch.assertAlive()
      watch.saw(parameters[0])
      return watch.ran(Promise.resolve(method.apply(connection, parameters)))
    }
  }
  for (const name of ['beginTransaction', 'commit', 'rollback']) {
    replaced[name] = (...parameters: unknown[]) => {
      assertOpen()
      watch.saw(name === 'beginTransaction' ? 'begin' : name)
      return ((connection as Record<string, unknown>)[name] as Method).apply(connection, parameters)
    }
  }
  for (const name of unwatched) {
    Object.defineProperty(replaced, name, {
      get() {
        watch.lostSight()
        return (connection as Record<string, unknown>)[name]
      },
    })
  }
  return endingView(
    connection,
    () => {
      assertOpen()
      watch.lostSight()
    },
    replaced,
  )
}
