import type { SqliteHandle, SqliteStatement } from 'sendoff/sqlite'

export interface Count {
  statements: number
}

/** Returns a handle that counts the statements that run on it, `BEGIN` and `COMMIT` included. */
export function countingHandle(handle: SqliteHandle, count: Count): SqliteHandle {
  return counting(handle, {
    exec(sql: string) {
      count.statements++
      return handle.exec(sql)
    },
    prepare: (sql: string) => countingStatement(handle.prepare(sql), count),
  })
}

function countingStatement(statement: SqliteStatement, count: Count): SqliteStatement {
  const counted = (name: 'run' | 'get' | 'all') => {
    return (...parameters: Parameters<SqliteStatement['run']>) => {
      count.statements++
      return statement[name](...parameters)
    }
  }
  return counting(statement, { run: counted('run'), get: counted('get'), all: counted('all') })
}

// All other methods run on the target itself: drivers keep their state where a proxy cannot reach.
function counting<Target extends object>(target: Target, methods: Readonly<Record<string, unknown>>): Target {
  return new Proxy(target, {
    get(_, property) {
      if (typeof property === 'string' && Object.hasOwn(methods, property)) return methods[property]
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
