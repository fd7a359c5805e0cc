import { orderByForm } from './actions.ts'

interface PageProps {
  readonly searchParams: Promise<{ readonly placed?: string; readonly refused?: string }>
}

export default async function Page({ searchParams }: PageProps) {
  const { placed, refused } = await searchParams
  return (
    <form action={orderByForm}>
      <input name="id" placeholder="order" />
      <input name="total" placeholder="total" />
      <button>Order</button>
      <p>{placed ? `Order ${placed} is placed.` : refused}</p>
    </form>
  )
}
