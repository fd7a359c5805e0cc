import { Admin } from '@platformatic/kafka'
import { describeBrokerService } from '../describe-broker-service.ts'
import { kafka } from './kafka.ts'
import { bootstrapBrokers } from './kafka-cluster.ts'

await describeBrokerService({
  service: kafka,

  write: async (url, name) =>
    void (await ask(url, (admin) => admin.createTopics({ topics: [nameOf(name)] }))),
  has: async (url, name) => (await ask(url, (admin) => admin.listTopics())).includes(nameOf(name)),
})

function nameOf(name: string): string {
  return name.replaceAll(/\W/g, '-')
}

async function ask<Answer>(url: string, question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
  const admin = new Admin({ clientId: 'sendoff-test', bootstrapBrokers: bootstrapBrokers(url), retries: 1 })
  try {
    return await question(admin)
  } finally {
    await admin.close()
  }
}
