// A 1.0 client made of rhea, driven by a test: verbs send and receive, options as --name value, messages as
// JSON lines on standard input, what happened as JSON lines on standard output. A value is a pair
// [type, value] with the type names of AMQP 1.0; 64-bit integers are decimal text, octets hexadecimal.
'use strict';
const rhea = require('rhea');
const { types } = rhea;

const verb = process.argv[2];
const options = {};
for (let i = 3; i + 1 < process.argv.length; i += 2) options[process.argv[i].slice(2)] = process.argv[i + 1];

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

// 64-bit values are given to rhea as octets, which it writes as they are.
const octets64 = (text) => {
    const octets = Buffer.alloc(8);
    octets.writeBigInt64BE(BigInt.asIntN(64, BigInt(text)));
    return octets;
};

function typed(pair) {
    const [kind, given] = pair;
    switch (kind) {
    case 'null': return null;
    case 'boolean': return types.wrap_boolean(given);
    case 'long': return types.wrap_long(octets64(given));
    case 'ulong': return types.wrap_ulong(octets64(given));
    case 'timestamp': return types.wrap_timestamp(Number(given));
    case 'binary': return types.wrap_binary(Buffer.from(given, 'hex'));
    case 'uuid': return types.wrap_uuid(rhea.string_to_uuid(given));
    case 'char': return types.wrap_char(given.codePointAt(0));
    case 'list': return types.wrap_list(given.map(typed));
    case 'map': return types.wrap_map(mapped(given));
    default: return types['wrap_' + kind](typeof given === 'string' && kind !== 'string' && kind !== 'symbol'
        ? Number(given) : given);
    }
}

const mapped = (entries) => Object.fromEntries(Object.entries(entries).map(([name, pair]) => [name, typed(pair)]));

function bodyOf(pair) {
    const [kind, given] = pair;
    if (kind === 'data') return rhea.message.data_section(Buffer.from(given, 'hex'));
    if (kind === 'sequence') return rhea.message.sequence_section(given.map(typed));
    return typed(pair);
}

// What comes back from rhea carries no type but for what JavaScript itself tells apart.
function described(given) {
    if (given === null || given === undefined) return ['null', null];
    if (typeof given === 'boolean') return ['boolean', given];
    if (typeof given === 'string') return ['string', given];
    if (typeof given === 'number' || typeof given === 'bigint') return ['number', String(given)];
    if (given instanceof Date) return ['timestamp', String(given.getTime())];
    if (Buffer.isBuffer(given)) return ['binary', given.toString('hex')];
    if (Array.isArray(given)) return ['list', given.map(described)];
    if (given.typecode === 0x75) return ['data', Buffer.from(given.content).toString('hex')];
    if (given.typecode === 0x76) return ['sequence', given.content.map(described)];
    if (given.type && 'value' in given) return described(given.value);
    return ['map', members(given)];
}

const members = (entries) => Object.fromEntries(
    Object.entries(entries || {}).map(([name, value]) => [name, described(value)]));

const FIELDS = ['message_id', 'user_id', 'to', 'subject', 'reply_to', 'correlation_id', 'content_type',
    'content_encoding', 'absolute_expiry_time', 'creation_time', 'group_id', 'group_sequence', 'reply_to_group_id'];

function message(wanted) {
    const made = { body: wanted.body ? bodyOf(wanted.body) : null };
    if (wanted.durable !== undefined) made.durable = wanted.durable;
    if (wanted.priority !== undefined) made.priority = wanted.priority;
    if (wanted['ttl-ms'] !== undefined) made.ttl = wanted['ttl-ms'];
    if (wanted.properties) made.application_properties = mapped(wanted.properties);
    if (wanted.annotations) made.message_annotations = mapped(wanted.annotations);
    if (wanted.footer) made.footer = mapped(wanted.footer);
    for (const field of FIELDS) {
        const given = wanted[field.replace(/_/g, '-')];
        if (given !== undefined) made[field] = Array.isArray(given) ? typed(given) : given;
    }
    return made;
}

function describe(got) {
    const line = {
        event: 'received',
        body: described(got.body),
        durable: Boolean(got.durable),
        'delivery-count': got.delivery_count || 0,
        properties: members(got.application_properties),
        annotations: members(got.message_annotations),
    };
    if (got.priority !== undefined) line.priority = got.priority;
    if (got.ttl !== undefined) line['ttl-ms'] = got.ttl;
    for (const field of FIELDS) {
        if (got[field] !== undefined && got[field] !== null) line[field.replace(/_/g, '-')] = described(got[field]);
    }
    return line;
}

const container = rhea.create_container({ id: options['container-id'] || 'rhea-peer' });
const fail = (name) => (context) => {
    const about = context[name];
    const error = (about && about.error) || context.error || {};
    say({ event: 'error', scope: name, class: error.condition || '', text: error.description || String(error) });
    process.exitCode = 1;
    context.connection.close();
};
for (const name of ['connection', 'session', 'sender', 'receiver']) container.on(name + '_error', fail(name));
container.on('disconnected', (context) => {
    if (context.error) { say({ event: 'error', class: 'disconnected', text: String(context.error) }); process.exitCode = 1; }
});
container.on('connection_close', () => say({ event: 'closed' }));

const connection = container.connect({
    host: '127.0.0.1', port: Number(options.port), reconnect: false,
    username: options.user || 'anonymous', password: options.password,
});

function send() {
    const lines = require('fs').readFileSync(0, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const sender = connection.open_sender({ target: { address: options.address } });
    const wanted = options.batch ? 1 : lines.length;
    let settled = 0;
    const outcome = (name) => (context) => {
        const state = context.delivery.remote_state || {};
        const error = state.error || {};
        say({ event: 'sent', outcome: name, class: error.condition || '', text: error.description || '' });
        settled += 1;
        if (settled === wanted) { sender.close(); connection.close(); }
    };
    for (const name of ['accepted', 'released', 'rejected', 'modified']) container.on(name, outcome(name));
    // All messages in one delivery: each is a data section of a batch.
    const batch = () => rhea.message.encode({
        body: rhea.message.data_sections(lines.map((line) => rhea.message.encode(message(line)))),
    });
    container.once('sendable', () => {
        if (options.batch) sender.send(batch(), undefined, 0x80013700);
        else lines.forEach((line) => sender.send(message(line)));
    });
}

function receive() {
    const count = Number(options.count || 1);
    let received = 0;
    const receiver = connection.open_receiver({
        source: { address: options.address, distribution_mode: options.browse ? 'copy' : undefined },
        credit_window: 0, autoaccept: !options.outcome,
    });
    const timer = setTimeout(() => { say({ event: 'timeout' }); connection.close(); }, Number(options['timeout-ms'] || 180000));
    container.on('receiver_open', () => { receiver.add_credit(count); say({ event: 'ready' }); });
    container.on('message', (context) => {
        say(describe(context.message));
        if (options.outcome) context.delivery[options.outcome]();
        received += 1;
        if (received === count) { clearTimeout(timer); receiver.close(); connection.close(); }
    });
    container.on('connection_close', () => clearTimeout(timer));
}

({ send, receive })[verb]();
