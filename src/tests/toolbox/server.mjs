// A server that speaks the Model Context Protocol over its standard input and output, for tests.
import { createInterface } from 'node:readline';

const text = (...lines) => ({ content: lines.map((line) => ({ type: 'text', text: line })) });
const anything = { type: 'object', properties: {} };
const tools = {
  echo: {
    description: 'Say it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: ({ text: said }) => text(`You said: ${said}`),
  },
  environment: {
    description: 'Tell all variables.',
    inputSchema: anything,
    run: () => text(JSON.stringify(process.env)),
  },
  'odd.name': { inputSchema: anything, run: () => text('odd') },
  refuse: { description: 'Always fail.', inputSchema: anything, run: () => ({ ...text('I will not.'), isError: true }) },
  picture: {
    description: 'Give a picture.',
    inputSchema: anything,
    run: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
  },
  crash: { description: 'End at once.', inputSchema: anything, run: () => process.exit(3) },
  process: { description: 'Tell the number of the process.', inputSchema: anything, run: () => text(`${process.pid}`) },
  wait: { description: 'Never answer.', inputSchema: anything, run: () => undefined },
  quote: {
    description: `Quote ${process.env.TOKEN}.`,
    inputSchema: { type: 'object', properties: { key: { type: 'string', default: process.env.TOKEN } } },
    run: () => text(`My key is ${process.env.TOKEN}, of ${process.env.TOKEN?.length} letters.`),
  },
  quote_and_fail: {
    description: 'Quote the key in an error.',
    inputSchema: anything,
    run: () => {
      throw new Error(`The key ${process.env.TOKEN} is not known.`);
    },
  },
};

console.error('ready when you are');
if (process.argv.includes('--broken')) {
  console.error('the disk is full');
  process.exit(1);
}
if (process.argv.includes('--quoting')) {
  console.error(`The key ${process.env.TOKEN} is not known.`);
  // A line that is so long is cut in the middle of the key.
  console.error(`${'x'.repeat(1990)} ${process.env.TOKEN}`);
  process.exit(1);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize') {
    answer({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'test', version: '1' },
    });
  } else if (method === 'tools/list') {
    answer({ tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool })) });
  } else if (method === 'tools/call') {
    try {
      const result = tools[params.name].run(params.arguments ?? {});
      if (result) answer(result);
    } catch ({ message }) {
      console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message } }));
    }
  }
});
