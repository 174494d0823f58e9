"""What builds and checks the project; the standard library only, since nothing is installed yet when it runs."""
