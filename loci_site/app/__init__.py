"""The pages for everybody: log in, search and read what one may, store, correct, flag. Curating is the admin's."""
