import { allKeysLock, keyLock, partitionLock } from '../sql/advisory-locks.ts'
import type { PostgresTables } from './postgres-tables.ts'

/**
 * The function that writes an event from triggers, psql and other languages, in the caller's transaction. It
 * follows the rules of the writer: the same limits and defaults, ids of the same form, the same partition for
 * a key. It is part of a migration: a change here needs a new one, which replaces the function.
 *
 * It takes JSON as json, jsonb or text. `anycompatible` stands for any type, the same one for payload and
 * headers. It is text for plain literals and untyped parameters.
 *
 * It runs with the rights of its owner, so that the right to call it is enough. That right has to be granted.
 * No code of the caller may run in it. So it finds names in `pg_catalog` alone. It converts a value only if
 * its type is one of the server's own, because a type of the caller could have its own conversion.
 */
export function writeFunction(tables: PostgresTables): readonly string[] {
  const { write } = tables
  const untilNow = signature('json')
  return [
    // Otherwise the function of the first version would remain beside the new one, since its types differ.
    `
do $drop$ begin
  if to_regprocedure('${write}${untilNow}') is not null then drop function ${write}${untilNow}; end if;
end $drop$`,
    definition(tables, plainInsert(tables)),
    `revoke all on function ${write}${signature('anycompatible')} from public`,
  ]
}

function signature(json: string): string {
  return `(text, ${json}, text, text, text, text, ${json}, interval, timestamptz, text, text, timestamptz, text)`
}

/**
 * The function since the revision that knows destinations: it writes one row for each destination of the
 * event, by the routing that the table keeps.
 */
export function routedWriteFunction(tables: PostgresTables): readonly string[] {
  return [definition(tables, routedInsert(tables))]
}

interface Insertion {
  readonly variables: string
  readonly statement: string
}

// `event_id, '', event_type` and so on: the columns and values of a row, for one destination.
function insertedRow({ events }: PostgresTables, destination: string, from: string): string {
  return `
  insert into ${events} (
         event_id, destination, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key, partition_no,
         payload, content_type, headers, available_at, occurred_at, created_at)
  ${from === '' ? 'values (' : 'select '}event_id, ${destination}, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key,
          partition_no, payload_json, content_type, headers_json, due_at, date_trunc('milliseconds', coalesce(occurred_at, written_at)),
          written_at${from === '' ? ')' : from};`
}

function plainInsert(tables: PostgresTables): Insertion {
  return { variables: '', statement: insertedRow(tables, "''", '') }
}

// The patterns of the routing are those of Expansion: each * stands for any characters.
function routedInsert(tables: PostgresTables): Insertion {
  const { control } = tables
  const fits = (name: string, pattern: string) =>
    `${name} like replace(replace(replace(replace(rule.value ->> '${pattern}', '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')`
  return {
    variables: `
  routing jsonb;
  destinations text[];`,
    statement: `
  select control.value::jsonb into routing from ${control} as control
   where control.kind = 'routing' order by control.name desc limit 1;
  if routing is null then
    destinations := array[''];
  else
    select array_agg(distinct named.destination) into destinations
      from jsonb_array_elements(routing -> 'rules') as rule
     cross join lateral jsonb_array_elements_text(rule.value -> 'to') as named (destination)
     where ${fits('event_type', 'type')}
       and ${fits('aggregate_type', 'aggregate')};
    destinations := coalesce(destinations, array(select jsonb_array_elements_text(routing -> 'default')));
  end if;
${insertedRow(tables, 'named.destination', '\n    from unnest(destinations) as named (destination)')}`,
  }
}

function definition(tables: PostgresTables, insertion: Insertion): string {
  const { idempotency, control, write, channel } = tables
  return `
create or replace function ${write}(
  event_type      text,
  payload         anycompatible,
  aggregate_type  text        default null,
  aggregate_id    text        default null,
  tenant_id       text        default null,
  ordering_key    text        default null,
  headers         anycompatible default null,
  deliver_after   interval    default null,
  available_at    timestamptz default null,
  idempotency_key text        default null,
  event_id        text        default null,
  occurred_at     timestamptz default null,
  content_type    text        default null
) returns text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
#variable_conflict use_variable
declare
  alphabet constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  millisecond constant interval := interval '1 millisecond';
  written_at constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  earliest constant timestamptz := '1000-01-01 00:00:00+00';
  latest constant timestamptz := '9999-12-31 23:59:59.999+00';
  payload_json json;
  headers_json json;
  field record;
  size integer;
  rest bigint;
  random bytea;
  used_by text;
  brackets text;
  due_at timestamptz;
  partition_no integer;
  last_mode text;${insertion.variables}
begin
  if event_type is null or payload is null then
    raise exception 'The event needs an event_type and a payload.' using errcode = 'invalid_parameter_value';
  end if;
  if pg_typeof(payload) not in ('json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'varchar'::regtype) then
    raise exception 'The event needs a payload of type json, jsonb or text, not %.', pg_typeof(payload)
      using errcode = 'invalid_parameter_value', hint = 'Convert it, as by to_json().';
  end if;
  payload_json := payload::text::json;

  for field in
    select *
      from (values ('event_type', event_type, 128), ('aggregate_type', aggregate_type, 64),
                   ('aggregate_id', aggregate_id, 128), ('tenant_id', tenant_id, 64),
                   ('ordering_key', ordering_key, 255), ('idempotency_key', idempotency_key, 200),
                   ('event_id', event_id, 36), ('content_type', content_type, 128)) as fields (name, value, longest)
     where value is not null
  loop
    -- In units of UTF-16, as the writer counts: two for a character beyond the first 65,536.
    size := char_length(field.value)
          + char_length(regexp_replace(field.value, '[^\\U00010000-\\U0010FFFF]', '', 'g'));
    if size = 0 then
      raise exception 'The event needs a non-empty string as %.', field.name
        using errcode = 'invalid_parameter_value';
    end if;
    if size > field.longest then
      raise exception 'The % of the event has % characters; at most % are stored.', field.name, size, field.longest
        using errcode = 'invalid_parameter_value';
    end if;
  end loop;

  size := octet_length(convert_to(payload_json::text, 'UTF8'));
  if size > 1048576 then
    raise exception 'The payload of a "%" event has % bytes; at most 1048576 are stored.', event_type, size
      using errcode = 'invalid_parameter_value',
            hint = 'Keep large content elsewhere and put a reference to it into the event.';
  end if;
  -- Only where there are brackets enough: these alone, of which each pass takes the innermost away.
  if size > 2000 and char_length(payload_json::text) - char_length(translate(payload_json::text, '[{', '')) > 1000 then
    brackets := translate(regexp_replace(payload_json::text, '"([^"\\\\]|\\\\.)*"|[^][{}"]+', '', 'g'), '{}', '[]');
    for depth in 1..1000 loop
      exit when brackets = '';
      brackets := replace(brackets, '[]', '');
    end loop;
    if brackets <> '' then
      raise exception 'The payload of a "%" event is nested deeper than 1000 levels.', event_type
        using errcode = 'invalid_parameter_value', hint = 'Write flatter data, or the text as bytes.';
    end if;
  end if;

  if headers is not null then
    if octet_length(convert_to(headers::text, 'UTF8')) > 65536 then
      raise exception 'The event has more than 65536 bytes of headers.' using errcode = 'invalid_parameter_value';
    end if;
    begin
      headers_json := headers::text::json;
      if json_typeof(headers_json) <> 'object'
         or exists (select from json_each(headers_json) as header where json_typeof(header.value) <> 'string') then
        raise exception 'The event needs an object of strings as headers.' using errcode = 'invalid_parameter_value';
      end if;
      if not exists (select from json_each_text(headers_json) as header where (header.key || header.value) is not null) then
        headers_json := null;
      end if;
    exception when untranslatable_character or invalid_text_representation then
      raise exception 'The event has a NUL character or half a surrogate pair in its headers.'
        using errcode = 'invalid_parameter_value';
    end;
  end if;

  if available_at is not null and deliver_after is not null then
    raise exception 'The event has both available_at and deliver_after. Give one of them: a time, or a delay.'
      using errcode = 'invalid_parameter_value';
  end if;
  if deliver_after <= interval '0' then
    raise exception 'The event needs a deliver_after above 0.' using errcode = 'invalid_parameter_value';
  end if;
  if occurred_at not between earliest and latest then
    raise exception 'The event has an occurred_at outside the years 1000 to 9999.'
      using errcode = 'invalid_parameter_value', hint = 'Leave it out for the time of the write.';
  end if;
  if available_at not between earliest and latest
     or extract(epoch from deliver_after) > extract(epoch from latest - written_at) then
    raise exception 'The event is due outside the years 1000 to 9999.'
      using errcode = 'invalid_parameter_value',
            hint = 'Leave available_at and deliver_after out for an event that is due at once.';
  end if;
  if extract(epoch from coalesce(available_at - written_at, deliver_after)) > 3155760000 then
    raise exception 'The event is due more than a hundred years from now.' using errcode = 'invalid_parameter_value';
  end if;
  -- A caller that passes "now" has read the clock a moment before.
  if available_at < coalesce(occurred_at, written_at - interval '1 second') then
    raise exception 'The event has an available_at before its occurred_at.'
      using errcode = 'invalid_parameter_value';
  end if;

  due_at := date_trunc('milliseconds', coalesce(
    available_at + 0.999 * millisecond, clock_timestamp() + deliver_after + 0.999 * millisecond, written_at));
  aggregate_type := coalesce(aggregate_type, '__GLOBAL__');
  ordering_key := coalesce(ordering_key, aggregate_type || ':' || aggregate_id);

  partition_no := get_byte(sha256(convert_to(ordering_key, 'UTF8')), 0);

  -- Other writers with the same key wait until this transaction ends, so that rows are committed in the order of seq.
  select control.name into last_mode from ${control} as control where control.kind = 'mode';
  if last_mode = 'ordered' then
    perform pg_advisory_xact_lock(${allKeysLock(tables)});
  elsif last_mode = 'partitioned' and ordering_key is not null then
    perform pg_advisory_xact_lock_shared(${partitionLock(tables, 'partition_no')});
    perform pg_advisory_xact_lock(${keyLock(tables, 'ordering_key')});
  end if;

  if event_id is null then
    event_id := '';
    rest := round(extract(epoch from written_at) * 1000);
    for place in 1..10 loop
      event_id := substr(alphabet, (rest & 31)::integer + 1, 1) || event_id;
      rest := rest >> 5;
    end loop;
    random := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
    for place in 0..15 loop
      event_id := event_id || substr(alphabet, (get_byte(random, place) & 31) + 1, 1);
    end loop;
  end if;

  if idempotency_key is not null then
    insert into ${idempotency} (key, event_id, created_at)
    values (idempotency_key, event_id, written_at)
    on conflict do nothing;
    if not found then
      select used.event_id into strict used_by from ${idempotency} as used where used.key = idempotency_key;
      return used_by;
    end if;
  end if;
${insertion.statement}

  perform pg_notify('${channel}', case
    when due_at <= clock_timestamp() then ''
    else '@' || ceil(extract(epoch from due_at - clock_timestamp()) * 1000)::bigint
  end);
  return event_id;
end
$function$`
}
