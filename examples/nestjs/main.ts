/**
 * A shop in Nest with an outbox: `npm run example:nestjs`. It needs no server but itself. Place an order with
 * `curl -d '{"id":"o-1","total":42}' -H 'content-type: application/json' localhost:3000/orders`, and look at
 * `localhost:3000/orders`. The database is `shop.db`, or the file in `SHOP_DATABASE`.
 */
import { NestFactory } from '@nestjs/core'
import { ShopModule } from './shop-module.ts'

const application = await NestFactory.create(ShopModule)
application.enableShutdownHooks()
await application.listen(process.env['PORT'] ?? 3000, '127.0.0.1')
console.log(`The shop is open at ${await application.getUrl()}/orders`)
