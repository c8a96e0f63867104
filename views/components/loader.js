const { promise } = ((globalThis.pagewalk ??= {})[VERSION] ??= Promise.withResolvers());
export default (await promise)(NAME);
