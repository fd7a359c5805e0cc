import { EndingView, type Method, type ViewOwner } from '../../sql/ending-view.ts'
import type { Connector } from './connector.ts'
import type { TransactionWatch } from './transaction-watch.ts'

type WatchedConnector = Pick<Connector<object>, 'watched' | 'unwatched'>

/**
 * A connection as the code of a transaction may use it, until the transaction ends. The view watches the
 * code's statements.
 */
export function transactionView<Connection extends object>(
  connection: Connection,
  watch: TransactionWatch,
  connector: WatchedConnector,
  owner: ViewOwner,
): Connection {
  return new Proxy(connection, new WatchedView<Connection>(watch, connector, owner))
}

// Code written for a connection of its own releases the connection at the end. Here the store does that.
const ignore = () => {}
const ignored = { release: ignore, end: ignore }

class WatchedView<Connection extends object> extends EndingView<Connection> {
  readonly #watch: TransactionWatch
  readonly #connector: WatchedConnector

  constructor(watch: TransactionWatch, connector: WatchedConnector, owner: ViewOwner) {
    super(owner, ignored)
    this.#watch = watch
    this.#connector = connector
  }

  protected override read(connection: Connection, property: PropertyKey): unknown {
    const { watched, unwatched } = this.#connector
    if (watched.includes(property)) return this.#statement(connection, property)
    if (property === 'beginTransaction') return this.#control(connection, property, 'begin')
    if (property === 'commit' || property === 'rollback') return this.#control(connection, property, property)
    if (!unwatched.includes(property)) return super.read(connection, property)

    this.#watch.lostSight()
    return Reflect.get(connection, property)
  }

  protected override beforeCall(): void {
    super.beforeCall()
    this.#watch.lostSight()
  }

  #statement(connection: Connection, property: PropertyKey): Method {
    return async (...parameters) => {
      this.owner.assertOpen()
      this.#watch.assertAlive()
      this.#watch.saw(parameters[0])
      return this.#watch.ran(Promise.resolve(methodOf(connection, property).apply(connection, parameters)))
    }
  }

  #control(connection: Connection, property: PropertyKey, statement: string): Method {
    return (...parameters) => {
      this.owner.assertOpen()
      this.#watch.saw(statement)
      return methodOf(connection, property).apply(connection, parameters)
    }
  }
}

function methodOf(connection: object, property: PropertyKey): Method {
  return Reflect.get(connection, property) as Method
}
