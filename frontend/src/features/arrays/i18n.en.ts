export default {
  title: "Arrays under way",
  array: "Array", tasks: "Tasks", atOnce: "At once", counts: "Where they stand",
  cancelOne: "Cancel the array {{array}}",
  cancelIt: "Cancel all tasks",
  cancelEffect: "All tasks of {{owner}} that are not over end. What they did not save is lost. This cannot be undone.",
  chosen: "Array {{array}}",
};
