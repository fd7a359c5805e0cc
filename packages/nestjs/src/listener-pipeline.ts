import 'reflect-metadata'
import type { ExceptionFilter, NestInterceptor, Type } from '@nestjs/common'
import { defer, from, lastValueFrom, mergeAll, type Observable } from 'rxjs'
import { ListenerContext } from './listener-context.ts'

/** The keys under which Nest keeps what `@UseInterceptors`, `@UseFilters` and `@Catch` say. */
const interceptorsKey = '__interceptors__'
const filtersKey = '__exceptionFilters__'
const caughtKey = '__filterCatchExceptions__'

/** What Nest keeps under these keys has no meaning for events. */
const forRequests = { __guards__: '@UseGuards', __pipes__: '@UsePipes' }

/** Returns the decorator of a method that would never run for a listener: of guards or pipes. */
export function requestDecoratorOf(method: object): string | undefined {
  return Object.entries(forRequests).find(([key]) => listed(key, method).length > 0)?.[1]
}

/** Finds the instance of an interceptor or filter that is given by its class. */
export type FindInstance = (type: Type) => unknown

/** A method of a listener's class, with its interceptors and exception filters. */
export interface ListenerMethod {
  readonly instance: object
  readonly name: string
  readonly interceptors: readonly NestInterceptor[]
  /** Those of the method first, then those of the class. */
  readonly filters: readonly ExceptionFilter[]
}

/**
 * Reads the interceptors and filters that decorate a method and its class. Those that are global in the
 * application are left out: they are written for requests. A global filter that only logs would make every
 * failed event DONE.
 */
export async function listenerMethod(
  type: Type,
  instance: object,
  name: string,
  find: FindInstance,
): Promise<ListenerMethod> {
  const method = (instance as Record<string, object>)[name]!
  const instancesOf = (given: readonly unknown[]) =>
    Promise.all(given.map((each) => (typeof each === 'function' ? find(each as Type) : each)))
  const [interceptors, filters] = await Promise.all([
    instancesOf([...listed(interceptorsKey, type), ...listed(interceptorsKey, method)]),
    instancesOf([...listed(filtersKey, method), ...listed(filtersKey, type)]),
  ])
  return {
    instance,
    name,
    interceptors: interceptors as NestInterceptor[],
    filters: filters as ExceptionFilter[],
  }
}

/** Calls a method through its interceptors. The first filter that catches its error decides the result. */
export async function callMethod(
  type: Type,
  { instance, name, interceptors, filters }: ListenerMethod,
  args: readonly unknown[],
): Promise<unknown> {
  const method = (instance as Record<string, (...args: unknown[]) => unknown>)[name]!
  const call = () => Promise.resolve(method.apply(instance, [...args]))
  if (interceptors.length === 0 && filters.length === 0) return call()

  const context = new ListenerContext(type, method, args)
  try {
    return interceptors.length === 0 ? await call() : await intercepted(interceptors, context, call)
  } catch (error) {
    const filter = filters.find((each) => catches(each, error))
    if (filter === undefined) throw error
    return await filter.catch(error, context)
  }
}

function listed(key: string, target: object): readonly unknown[] {
  return (Reflect.getMetadata(key, target) as readonly unknown[] | undefined) ?? []
}

function intercepted(
  interceptors: readonly NestInterceptor[],
  context: ListenerContext,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const handlerAt = (index: number): Observable<unknown> =>
    index === interceptors.length
      ? defer(call)
      : defer(() =>
          from(
            Promise.resolve(interceptors[index]!.intercept(context, { handle: () => handlerAt(index + 1) })),
          ).pipe(mergeAll()),
        )
  // An interceptor may end the stream without a value: the listener has succeeded then.
  return lastValueFrom(handlerAt(0), { defaultValue: undefined })
}

function catches(filter: ExceptionFilter, error: unknown): boolean {
  const classes = (Reflect.getMetadata(caughtKey, filter.constructor) as Type[] | undefined) ?? []
  return classes.length === 0 || classes.some((each) => error instanceof each)
}
