// `make extension` puts MiniSearch here. Without it, background/local_search.js compares words itself.
export default null;
